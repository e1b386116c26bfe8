package record

import (
	"troupe/codec/flexible"
	"troupe/internal/model"
)

// AccessControlEntry adds an ACL; the codes are those of the ACL requests (KIP-140, KIP-290).
type AccessControlEntry struct {
	ID             model.UUID
	ResourceType   int8
	ResourceName   string
	PatternType    int8
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
}

// RemoveAccessControlEntry removes an ACL.
type RemoveAccessControlEntry struct {
	ID model.UUID
}

// UserScramCredential sets a user's credential (KIP-900). Mechanism is 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
type UserScramCredential struct {
	Name      string
	Mechanism int8
	// Salt, StoredKey and ServerKey are RFC 5802's; the password itself is nowhere.
	Salt      []byte
	StoredKey []byte
	ServerKey []byte
	// Iterations is at least 4096.
	Iterations int32
}

// RemoveUserScramCredential removes a user's credential.
type RemoveUserScramCredential struct {
	Name      string
	Mechanism int8
}

// DelegationToken adds or renews a token (KIP-48); times are milliseconds since 1970.
type DelegationToken struct {
	// Owner acts with the token; Requester asked for it, and is another where KIP-373 allows that.
	Owner     string
	Requester string
	Renewers  []string
	// IssueTimestamp and the others; renewing moves ExpirationTimestamp, never beyond MaxTimestamp.
	IssueTimestamp      int64
	MaxTimestamp        int64
	ExpirationTimestamp int64
	TokenID             string
}

// RemoveDelegationToken ends a token before it expires.
type RemoveDelegationToken struct {
	TokenID string
}

// ClientQuota sets one key of an entity's quota, or removes it (KIP-546).
type ClientQuota struct {
	Entity []QuotaEntity
	// QuotaKey is for example "producer_byte_rate"; the schema calls it Key.
	QuotaKey string
	Value    float64
	Remove   bool
}

// QuotaEntity is one dimension of an entity: "user", "client-id" or "ip". A nil Name is the default of the type.
type QuotaEntity struct {
	Type string
	Name *string
}

// Key is 18.
func (*AccessControlEntry) Key() Key { return KeyAccessControlEntry }

func (r *AccessControlEntry) fields(c *flexible.Coder, _ int16) {
	c.UUID(&r.ID)
	c.Int8(&r.ResourceType)
	c.String(&r.ResourceName)
	c.Int8(&r.PatternType)
	c.String(&r.Principal)
	c.String(&r.Host)
	c.Int8(&r.Operation)
	c.Int8(&r.PermissionType)
	c.Tags()
}

// Key is 19.
func (*RemoveAccessControlEntry) Key() Key { return KeyRemoveAccessControlEntry }

func (r *RemoveAccessControlEntry) fields(c *flexible.Coder, _ int16) {
	c.UUID(&r.ID)
	c.Tags()
}

// Key is 11.
func (*UserScramCredential) Key() Key { return KeyUserScramCredential }

func (r *UserScramCredential) fields(c *flexible.Coder, _ int16) {
	c.String(&r.Name)
	c.Int8(&r.Mechanism)
	c.Bytes(&r.Salt)
	c.Bytes(&r.StoredKey)
	c.Bytes(&r.ServerKey)
	flexible.Int32(c, &r.Iterations)
	c.Tags()
}

// Key is 22.
func (*RemoveUserScramCredential) Key() Key { return KeyRemoveUserScramCredential }

func (r *RemoveUserScramCredential) fields(c *flexible.Coder, _ int16) {
	c.String(&r.Name)
	c.Int8(&r.Mechanism)
	c.Tags()
}

// Key is 10.
func (*DelegationToken) Key() Key { return KeyDelegationToken }

func (r *DelegationToken) fields(c *flexible.Coder, _ int16) {
	c.String(&r.Owner)
	c.String(&r.Requester)
	flexible.Array(c, &r.Renewers, false, 1, c.String)
	flexible.Int64(c, &r.IssueTimestamp)
	flexible.Int64(c, &r.MaxTimestamp)
	flexible.Int64(c, &r.ExpirationTimestamp)
	c.String(&r.TokenID)
	c.Tags()
}

// Key is 26.
func (*RemoveDelegationToken) Key() Key { return KeyRemoveDelegationToken }

func (r *RemoveDelegationToken) fields(c *flexible.Coder, _ int16) {
	c.String(&r.TokenID)
	c.Tags()
}

// Key is 14.
func (*ClientQuota) Key() Key { return KeyClientQuota }

func (r *ClientQuota) fields(c *flexible.Coder, _ int16) {
	flexible.Array(c, &r.Entity, false, 3, func(e *QuotaEntity) {
		c.String(&e.Type)
		c.NullableString(&e.Name)
		c.Tags()
	})
	c.String(&r.QuotaKey)
	c.Float64(&r.Value)
	c.Bool(&r.Remove)
	c.Tags()
}

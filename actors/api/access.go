package api

// Operation is what a request does to a resource (KIP-11).
type Operation string

// The operations that handlers name.
const (
	Read            Operation = "Read"
	Write           Operation = "Write"
	Create          Operation = "Create"
	DeleteOp        Operation = "Delete"
	Alter           Operation = "Alter"
	Describe        Operation = "Describe"
	DescribeConfigs Operation = "DescribeConfigs"
	AlterConfigsOp  Operation = "AlterConfigs"
	IdempotentWrite Operation = "IdempotentWrite"
	ClusterAction   Operation = "ClusterAction"
	Anything        Operation = "" // needs no permission: ApiVersions
)

// Resource is the kind of thing that a permission is about.
type Resource string

// The resource kinds that handlers name.
const (
	OnTopic   Resource = "Topic"
	OnCluster Resource = "Cluster"
	OnGroup   Resource = "Group"
	OnTxn     Resource = "TransactionalId"
)

// Access is what an API needs: the operation on each resource that the request names, or on the cluster.
type Access struct {
	Operation Operation
	Resource  Resource
}

// Authorizer decides; it is asked for every request before its handler runs.
type Authorizer interface {
	// Allowed tells whether the client may do the operation on the resource; name is empty for the cluster, and
	// where the handler asks once for all that the request names.
	Allowed(c *Client, op Operation, on Resource, name string) bool
}

// AllowAll is the authorizer of a broker without one (authorizer.class.name is not set).
type AllowAll struct{}

// Allowed is always true.
func (AllowAll) Allowed(*Client, Operation, Resource, string) bool { return true }

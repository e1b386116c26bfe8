package frame

import (
	"encoding/binary"
	"errors"
)

// RequestHeader is the header of a request. Version 1 is that of inflexible APIs, version 2 adds the tagged fields; the
// client id has a two-byte length in both.
type RequestHeader struct {
	Key, Version  int16
	CorrelationID int32
	// ClientID aliases the frame; nil is null.
	ClientID []byte
	Tags     Tags
}

// ErrHeader says that a header is cut off or contradicts itself.
var ErrHeader = errors.New("malformed header")

const (
	fixedHeader = 2 + 2 + 4
	// keyApiVersions is the API whose answers have no tagged fields in their header at any version, since the client does
	// not know yet what the broker speaks (KIP-511).
	keyAPIVersions = 18
)

// ParseRequestHeader reads the header of a frame and gives what follows it. When the header's version depends on an API
// or version that is not known here, it is read as version 1: key, version and correlation id are right all the same.
// The only error is ErrHeader.
func ParseRequestHeader(b []byte) (h RequestHeader, body []byte, err error) {
	if len(b) < fixedHeader+2 {
		return h, nil, ErrHeader
	}
	h.Key = int16(binary.BigEndian.Uint16(b))
	h.Version = int16(binary.BigEndian.Uint16(b[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(b[4:]))
	n := int(int16(binary.BigEndian.Uint16(b[fixedHeader:])))
	b = b[fixedHeader+2:]
	if n >= 0 {
		if n > len(b) {
			return h, nil, ErrHeader
		}
		h.ClientID, b = b[:n:n], b[n:]
	} else if n != -1 {
		return h, nil, ErrHeader
	}
	if !Flexible(h.Key, h.Version) {
		return h, b, nil
	}
	h.Tags, body, err = parseTags(b)
	return h, body, err
}

// AppendRequestHeader writes the header that ParseRequestHeader reads. Tags of an inflexible version have no place and
// are left out.
func AppendRequestHeader(dst []byte, h RequestHeader) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	if h.ClientID == nil {
		dst = append(dst, 0xff, 0xff)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(h.ClientID)))
		dst = append(dst, h.ClientID...)
	}
	if Flexible(h.Key, h.Version) {
		dst = appendTags(dst, h.Tags)
	}
	return dst
}

// AppendResponseHeader writes the header of the answer to a request of the given API and version.
func AppendResponseHeader(dst []byte, key, version int16, correlationID int32, tags Tags) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if taggedResponse(key, version) {
		dst = appendTags(dst, tags)
	}
	return dst
}

// Correlation reads the correlation id of an answer, by which the request is found whose API and version tell how to read the
// rest. The only error is ErrHeader.
func Correlation(b []byte) (int32, error) {
	if len(b) < 4 {
		return 0, ErrHeader
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

// ParseResponseHeader reads the header of the answer to a request of the given API and version.
func ParseResponseHeader(b []byte, key, version int16) (correlationID int32, tags Tags, body []byte, err error) {
	if len(b) < 4 {
		return 0, nil, nil, ErrHeader
	}
	correlationID, b = int32(binary.BigEndian.Uint32(b)), b[4:]
	if !taggedResponse(key, version) {
		return correlationID, nil, b, nil
	}
	tags, body, err = parseTags(b)
	return correlationID, tags, body, err
}

func taggedResponse(key, version int16) bool {
	return key != keyAPIVersions && Flexible(key, version)
}

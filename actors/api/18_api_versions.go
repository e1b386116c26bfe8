package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/codec/kerr"
)

// ApiVersions (key 18), versions 0-4. A barrier on its connection.
//
// Errors: 35 UNSUPPORTED_VERSION in the form of version 0, naming this API's own range, for any other version; 42
// INVALID_REQUEST for a software name or version that is not made of letters, digits, '.', '-' (KIP-511).
var apiVersions = &Handler{
	Key: 18, Name: "ApiVersions", Min: 0, Max: 4, On: OnBroker | OnController,
	Access: Access{Operation: Anything},
	Handle: handleAPIVersions,
}

// handleAPIVersions is asked first of all, before authentication, and has to be understood by a client that knows less
// or more than this broker: so its reply header never has tags, and an unknown version is answered in the oldest form.
func handleAPIVersions(n *Node, r *Request) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = r.Version
	if r.Unsupported {
		resp.ErrorCode = int16(kerr.UnsupportedVersion)
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiKey(r.Handler)}
		r.Reply(resp)
		return
	}
	req := r.Body.(*kmsg.ApiVersionsRequest)
	if r.Version >= 3 && (!softwareName(req.ClientSoftwareName) || !softwareName(req.ClientSoftwareVersion)) {
		resp.ErrorCode = int16(kerr.InvalidRequest)
		r.Reply(resp)
		return
	}
	resp.ApiKeys = n.advertised(r.Client)
	if r.Version >= 3 {
		n.features(resp)
	}
	r.Reply(resp)
}

// apiKey shows the range that clients choose from; Produce shows more than is answered (Handler.Shown).
func apiKey(h *Handler) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = h.Key, h.Shown(), h.Max
	return k
}

// advertised is made from the handlers, so that nothing is shown that is not answered. The private keys are not shown to
// anybody: who knows them says hello.
func (n *Node) advertised(c *Client) []kmsg.ApiVersionsResponseApiKey {
	keys := make([]kmsg.ApiVersionsResponseApiKey, 0, len(n.APIs))
	for _, h := range n.APIs {
		if h.Key < firstPrivate && h.answers(c) {
			keys = append(keys, apiKey(h))
		}
	}
	return keys
}

// features fills in what this software can run and what the cluster has finalized.
func (n *Node) features(resp *kmsg.ApiVersionsResponse) {
	img := n.Image()
	for _, f := range controller.SupportedFeatures {
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = f.Name, f.MinSupportedVersion, f.MaxSupportedVersion
		if s.MinVersion == 0 && resp.Version < 4 {
			// Older clients refuse a range that begins at 0 (KAFKA-17011); they see the rest of it.
			if f.MaxSupportedVersion == 0 {
				continue
			}
			s.MinVersion = 1
		}
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		level := img.Feature(f.Name)
		if f.Name == controller.KRaftVersionFeature {
			level = n.Quorum().KRaftVersion
		}
		if level > 0 {
			z := kmsg.NewApiVersionsResponseFinalizedFeature()
			z.Name, z.MinVersionLevel, z.MaxVersionLevel = f.Name, level, level
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, z)
		}
	}
	// Clients take the answer with the highest epoch for the newest.
	resp.FinalizedFeaturesEpoch = int64(img.Offset)
}

// softwareName is KIP-511's rule for a client's name and version.
func softwareName(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (c != '.' && c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return true
}

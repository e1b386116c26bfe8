package connection

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"troupe/cmd/troupe/client/kafkatext"
)

// securityOptions maps security.protocol, ssl.* (PEM stores) and sasl.* of a Java client's property file.
func securityOptions(props kafkatext.Properties) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	protocol := strings.ToUpper(strings.TrimSpace(props["security.protocol"]))
	switch protocol {
	// Checked before the stores are read, so that a wrong protocol is not told as a missing file.
	case "", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return nil, fmt.Errorf("Invalid value %s for configuration security.protocol: "+
			"String must be one of (case insensitive): SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT", props["security.protocol"])
	}
	if strings.HasSuffix(protocol, "SSL") {
		conf, err := tlsConfig(props)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(conf))
	}
	if strings.HasPrefix(protocol, "SASL") {
		mechanism, err := saslMechanism(props)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

func tlsConfig(props kafkatext.Properties) (*tls.Config, error) {
	// Kafka's ssl.enabled.protocols are TLSv1.2 and TLSv1.3.
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if algorithm, ok := props["ssl.endpoint.identification.algorithm"]; ok && algorithm == "" {
		conf.InsecureSkipVerify = true // checked against the store below, without the host name
	}
	// Without a trust store the system's certificates are trusted, where Java has its own.
	trusted, err := pemOf(props, "truststore", "ssl.truststore.certificates")
	if err != nil {
		return nil, err
	}
	if trusted != nil {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(trusted) {
			return nil, fmt.Errorf("ssl.truststore holds no PEM certificate")
		}
	}
	if conf.InsecureSkipVerify {
		conf.VerifyConnection = verifyChain(conf.RootCAs)
	}
	chain, err := pemOf(props, "keystore", "ssl.keystore.certificate.chain")
	if err != nil || chain == nil {
		return conf, err
	}
	// A PEM file may hold the key with the chain; inline, the key has a property of its own (KIP-651).
	key := chain
	if inline := props["ssl.keystore.key"]; inline != "" {
		key = []byte(inline)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("ssl.keystore: %w", err)
	}
	conf.Certificates = []tls.Certificate{pair}
	return conf, nil
}

// verifyChain checks the certificate chain and not the name.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range s.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(opts)
		return err
	}
}

// pemOf gives the PEM text of a store: given inline, or as a file of type PEM. nil is none.
func pemOf(props kafkatext.Properties, store, inline string) ([]byte, error) {
	if text := props[inline]; text != "" {
		return []byte(text), nil
	}
	path := props["ssl."+store+".location"]
	if path == "" {
		return nil, nil
	}
	if kind := props["ssl."+store+".type"]; !strings.EqualFold(kind, "PEM") {
		return nil, fmt.Errorf("ssl.%s.location=%s: only stores of ssl.%s.type=PEM can be read, not %q", store, path, store, kind)
	}
	return os.ReadFile(path)
}

// jaasField finds key="value" in a JAAS login module's options; a quotation mark in a value has a backslash before it.
var jaasField = regexp.MustCompile(`(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"`)

// saslMechanism reads sasl.mechanism and the user of sasl.jaas.config.
func saslMechanism(props kafkatext.Properties) (sasl.Mechanism, error) {
	jaas := map[string]string{}
	for _, m := range jaasField.FindAllStringSubmatch(props["sasl.jaas.config"], -1) {
		jaas[m[1]] = strings.ReplaceAll(m[2], `\"`, `"`)
	}
	if jaas["username"] == "" {
		return nil, fmt.Errorf("sasl.jaas.config names no username")
	}
	switch mechanism := props["sasl.mechanism"]; mechanism {
	case "PLAIN":
		return plain.Auth{User: jaas["username"], Pass: jaas["password"]}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: jaas["username"], Pass: jaas["password"]}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: jaas["username"], Pass: jaas["password"]}.AsSha512Mechanism(), nil
	default:
		return nil, fmt.Errorf("sasl.mechanism=%s is not one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512", mechanism)
	}
}

package configs

import "testing"

func TestWhatKubernetesSetsForAServiceOfTheBrokersNameIsNoKey(t *testing.T) {
	environment := []string{
		"TROUPE_SERVICE_HOST=10.0.0.1", "TROUPE_SERVICE_PORT=9092", "TROUPE_SERVICE_PORT_KAFKA=9092",
		"TROUPE_PORT=tcp://10.0.0.1:9092", "TROUPE_PORT_9092_TCP=tcp://10.0.0.1:9092", "TROUPE_PORT_9092_TCP_ADDR=10.0.0.1",
	}
	if _, err := Load(Options{Environment: environment, DataDir: t.TempDir()}); err != nil {
		t.Errorf("a pod beside a service named troupe does not start: %v", err)
	}
	if _, err := Load(Options{Environment: []string{"TROUPE_PORT=9092"}, DataDir: t.TempDir()}); err == nil {
		t.Error("port, which is not a key any more, was taken from the environment")
	}
}

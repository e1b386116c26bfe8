package socket

import (
	"errors"
	"io"
	"net"
	"os"
)

// Cause is what is behind an error of the network, for a text that names the address itself.
func Cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	switch {
	case os.IsTimeout(err):
		return errors.New("no answer")
	case errors.Is(err, io.EOF):
		return errors.New("it hung up: no listener of controllers, or one that is busy")
	}
	return err
}

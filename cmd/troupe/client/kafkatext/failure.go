// Package kafkatext holds what Kafka's scripts print and read because they are written in Java: the exceptions of
// error codes, property files, the order of hash maps, the text of numbers.
package kafkatext

import "fmt"

const errorsPackage = "org.apache.kafka.common.errors."

type exception struct{ class, text string }

// Failure is an error a broker answered with, in the Java client's words.
type Failure struct {
	Code int16
	Text string
}

// Answer turns an error code and its message into an error; code 0 is nil.
func Answer(code int16, message *string) error {
	if code == 0 {
		return nil
	}
	f := &Failure{Code: code}
	switch known, ok := exceptions[code]; {
	// The broker's own message says more than the code's; an empty one is none.
	case message != nil && *message != "":
		f.Text = *message
	case ok:
		f.Text = known.text
	default:
		f.Text = fmt.Sprintf("Unexpected error code %d", code)
	}
	return f
}

// Error gives the message without the class, as Throwable.getMessage does.
func (f *Failure) Error() string { return f.Text }

// Class gives the simple name of the exception.
func (f *Failure) Class() string {
	if e, ok := exceptions[f.Code]; ok {
		return e.class
	}
	// A code that is newer than the table is to the Java client what it does not know either.
	return "UnknownServerException"
}

// QualifiedClass gives the class with its package.
func (f *Failure) QualifiedClass() string { return errorsPackage + f.Class() }

// Qualified gives "package.Class: text", as Throwable.toString does.
func (f *Failure) Qualified() string { return f.QualifiedClass() + ": " + f.Text }

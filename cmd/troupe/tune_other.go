//go:build !linux

package main

// forgetStart is for Linux alone.
func forgetStart() {}

//go:build tools

// Names the program that install.sh builds, so that go.sum has what it needs.
package main

import _ "k8s.io/kubernetes/cmd/kube-apiserver"

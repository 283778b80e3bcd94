/**
 * The fuzzer: grammar-aware sequences over HTTP/1.1, HTTP/2 and gRPC from clients and servers, generated from seeds,
 * while health probes check health and inferences. And the soak test: the same for a long time with valid load, while
 * memory, descriptors and threads are sampled. Commands and figures are explained in docs/internals/faults.md.
 */
@NullMarked
package dev.isthmus.bench.fuzz;

import org.jspecify.annotations.NullMarked;

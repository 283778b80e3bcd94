/**
 * A search for requests, and answers of servers, that hurt the gateway: grammar-aware sequences over HTTP/1.1, HTTP/2 and gRPC
 * from clients and servers, made from seeds, while health probes ask for health and inferences. And the soak, the same for long
 * beside valid load, with memory, descriptors and threads sampled. Commands and figures are in docs/explanation/faults.md.
 */
@NullMarked
package dev.isthmus.bench.fuzz;

import org.jspecify.annotations.NullMarked;

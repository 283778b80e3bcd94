/**
 * InferenceServices of KServe as upstreams and models of a configuration: what of a resource counts, what it becomes,
 * and the watches. Does not apply a configuration, and does not know its servers.
 */
@NullMarked
package dev.isthmus.gateway.fleet.kserve;

import org.jspecify.annotations.NullMarked;

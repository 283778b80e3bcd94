/**
 * InferenceServices of KServe as upstreams and models of a configuration: what of a resource counts, what it becomes,
 * and the watches, with when a change is applied. Does not know how, and of servers only what models they list.
 */
@NullMarked
package dev.isthmus.gateway.fleet.kserve;

import org.jspecify.annotations.NullMarked;

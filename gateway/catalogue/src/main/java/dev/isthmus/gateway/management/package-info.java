/**
 * Operations on the fleet rather than on one model's server: readiness and metadata, from the catalogue, and the
 * management extensions (Triton's protocol documents), whose requests go to one server, or to several whose responses
 * are merged.
 */
@NullMarked
package dev.isthmus.gateway.management;

import org.jspecify.annotations.NullMarked;

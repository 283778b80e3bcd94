/**
 * What is asked of the fleet and not of one model's server: readiness and metadata, out of the catalogue, and the management
 * extensions (Triton's protocol documents), whose requests go to one server, or to several whose answers are merged.
 */
@NullMarked
package dev.isthmus.gateway.management;

import org.jspecify.annotations.NullMarked;

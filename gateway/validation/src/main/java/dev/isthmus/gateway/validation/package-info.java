/**
 * Requests compared with what the servers of a model declare of its inputs and outputs: the comparison and the layer that
 * acts on it. Where the declarations come from, and which models they are compared for, is the business of others.
 */
@NullMarked
package dev.isthmus.gateway.validation;

import org.jspecify.annotations.NullMarked;

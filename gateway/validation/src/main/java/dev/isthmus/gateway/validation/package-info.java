/**
 * Requests compared with what the servers of a model declare of its inputs and outputs: the comparison and the layer that
 * acts on it. Where the declarations come from, and which models they are compared for, is the business of others.
 *
 * <p>{@code RequestValidator} is the layer: it compares the {@code RequestOutline} of a request, which is made only if
 * a layer wants it, with the {@code ModelSignature}s of the servers that may get it.
 */
@NullMarked
package dev.isthmus.gateway.validation;

import org.jspecify.annotations.NullMarked;

/**
 * DJL translators, loaded from jars beside a model, which convert between the protocol's tensors and the model's. Their
 * arrays support every datatype of the protocol. Runs no models itself and has no threads.
 */
@NullMarked
package dev.isthmus.local.translate;

import org.jspecify.annotations.NullMarked;

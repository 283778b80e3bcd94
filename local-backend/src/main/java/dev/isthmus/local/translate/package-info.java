/**
 * DJL Translators of models: what lies in a jar beside a model and stands between V2's tensors and the model's. A translator
 * gets and gives arrays that hold any datatype of the protocol. Runs no model itself and knows no threads.
 */
@NullMarked
package dev.isthmus.local.translate;

import org.jspecify.annotations.NullMarked;

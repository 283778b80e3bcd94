/**
 * What is said of messages whatever their form: the forms, what servers make of them, what a message may hold, and the checks
 * that each tensor passes.
 */
@NullMarked
package dev.isthmus.transcoder.message;

import org.jspecify.annotations.NullMarked;

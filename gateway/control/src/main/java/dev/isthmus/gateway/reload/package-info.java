/**
 * When a configuration is read again: the file behind it, watched for changes, and the signal that asks for it. What is then
 * done with it is not known here.
 */
@NullMarked
package dev.isthmus.gateway.reload;

import org.jspecify.annotations.NullMarked;

/** Tests of the audit log. */
@NullMarked
package dev.isthmus.gateway.audit;

import org.jspecify.annotations.NullMarked;

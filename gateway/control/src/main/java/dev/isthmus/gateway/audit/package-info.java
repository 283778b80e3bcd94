/**
 * What operators do, what callers change by management calls, and what the process does by itself: who, from where,
 * before and after. No secrets, and no texts of requests.
 */
@NullMarked
package dev.isthmus.gateway.audit;

import org.jspecify.annotations.NullMarked;

/**
 * Who a caller is: API keys, JSON Web Tokens, client certificates. Nothing here decides what a caller may do.
 * Credentials are never logged, kept in clear text, or part of a message.
 */
@NullMarked
package dev.isthmus.gateway.identity;

import org.jspecify.annotations.NullMarked;

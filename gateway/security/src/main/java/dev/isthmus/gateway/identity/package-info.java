/**
 * Who a caller is: API keys, JSON Web Tokens, client certificates. Nothing here decides what a caller may do.
 * Credentials are never logged, kept in clear text, or part of a message.
 *
 * <p>An {@code Authenticator} turns a credential into a {@code Principal}, one object for all requests with the same
 * one. {@code ReloadedFile} and {@code FetchedKeys} renew its keys on a thread of its own. It is kept over reloads
 * that do not change its section.
 */
@NullMarked
package dev.isthmus.gateway.identity;

import org.jspecify.annotations.NullMarked;

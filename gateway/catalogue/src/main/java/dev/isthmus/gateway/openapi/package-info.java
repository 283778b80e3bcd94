/**
 * The REST interface as OpenAPI documents: of the gateway, made from the tables of its paths, and of one model, made
 * from its metadata, with an example request. Values only: nothing here sends a request.
 *
 * <p>{@code ApiDescriptions} reads the tables that routes are made of ({@code OperationKind}, {@code
 * Extension}); what is the same in all documents is in {@code template.json}.
 */
@NullMarked
package dev.isthmus.gateway.openapi;

import org.jspecify.annotations.NullMarked;

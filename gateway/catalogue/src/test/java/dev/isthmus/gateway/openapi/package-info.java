/** Tests of the OpenAPI documents and of the example requests. */
@NullMarked
package dev.isthmus.gateway.openapi;

import org.jspecify.annotations.NullMarked;

/**
 * Shadow traffic: copies of calls for servers whose answers nobody gets, and the comparison of those answers with the main
 * ones. Nothing here may slow or fail a main call. No channel types.
 */
@NullMarked
package dev.isthmus.gateway.shadow;

import org.jspecify.annotations.NullMarked;

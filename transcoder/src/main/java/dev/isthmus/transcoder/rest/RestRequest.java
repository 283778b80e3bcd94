package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;

/** A decoded REST request, with what it says about the form of its answer. */
public record RestRequest(InferRequest request, OutputForms outputForms) {}

package dev.isthmus.oip;

import java.util.Map;

/** What a tensor is, without its elements. */
public interface TensorHead {

    String name();

    DataType dataType();

    Shape shape();

    Map<String, Parameter> parameters();
}

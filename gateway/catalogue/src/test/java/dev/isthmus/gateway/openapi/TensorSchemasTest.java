package dev.isthmus.gateway.openapi;

import static dev.isthmus.gateway.openapi.ExampleRequestTest.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.openapi.ApiDescriptions.ModelApi.TensorSchemas;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TensorSchemasTest {
    private static JsonNode property(String name, boolean output, String type, long... shape) {
        return new TensorSchemas(output).of(tensor("x", type, shape)).at("/properties/" + name);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            BOOL   | {"type":"boolean"}
            UINT8  | {"type":"integer","minimum":0,"maximum":255}
            UINT16 | {"type":"integer","minimum":0,"maximum":65535}
            UINT32 | {"type":"integer","minimum":0,"maximum":4294967295}
            UINT64 | {"type":"integer","minimum":0,"maximum":18446744073709551615}
            INT8   | {"type":"integer","minimum":-128,"maximum":127}
            INT16  | {"type":"integer","minimum":-32768,"maximum":32767}
            INT32  | {"type":"integer","format":"int32","minimum":-2147483648,"maximum":2147483647}
            INT64  | {"type":"integer","format":"int64","minimum":-9223372036854775808,"maximum":9223372036854775807}
            FP16   | {"type":"number"}
            BF16   | {"type":"number"}
            FP32   | {"type":"number","format":"float"}
            FP64   | {"type":"number","format":"double"}
            BYTES  | {"type":"string"}
            FP8    | {}
            """)
    void element(String type, String schema) {
        assertThat(property("data", false, type, 3)).hasToString("{\"type\":\"array\",\"items\":" + schema + "}");
    }

    @Test
    void floatsOfOutputs_mayBeNull() {
        assertThat(property("data/items/type", true, "FP32", 3)).hasToString("[\"number\",\"null\"]");
        assertThat(property("data/items/type", true, "INT32", 3)).hasToString("\"integer\"");
    }

    @Test
    void data_areFlatOrNested() {
        assertThat(property("data", false, "BYTES", -1, 2)).hasToString("""
                {"anyOf":[{"type":"array","items":{"type":"string"}},\
                {"type":"array","items":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"string"}}}]}""");
    }

    @Test
    void data_ofMoreDimensionsThanTensorsHave_areFlat() {
        assertThat(property("data", false, "BOOL", new long[100_000]))
                .hasToString("{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}");
    }

    @Test
    void shape_hasTheFixedExtents() {
        assertThat(property("shape", false, "BYTES", -1, 2)).hasToString("""
                {"description":"[-1,2]; -1 is a dimension of variable size","type":"array","minItems":2,"maxItems":2,\
                "prefixItems":[{"type":"integer","minimum":0},{"type":"integer","minimum":2,"maximum":2}],\
                "items":{"type":"integer","minimum":0}}""");
        assertThat(property("shape/maxItems", false, "BYTES")).hasToString("0");
    }

    @Test
    void dataOfOutputs_mayBeElsewhere() {
        assertThat(new TensorSchemas(false).of(tensor("x", "BOOL")).path("required"))
                .hasToString("[\"name\",\"shape\",\"datatype\",\"data\"]");
        assertThat(new TensorSchemas(true).of(tensor("x", "BOOL")).path("required"))
                .hasToString("[\"name\",\"shape\",\"datatype\"]");
    }
}

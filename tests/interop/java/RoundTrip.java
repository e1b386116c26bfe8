import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes records with an idempotent producer, reads them back, and compares each: BOOTSTRAP TOPIC CODEC COUNT. */
public final class RoundTrip {
    private static byte[] key(int i) {
        return i % 10 == 0 ? null : ("key-" + i).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] value(int i) {
        return i % 17 == 0 ? null : ("value " + i + " " + "abcdefghij".repeat(i % 20)).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] header(int i) {
        return Integer.toString(i).getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], topic = args[1], codec = args[2];
        int count = Integer.parseInt(args[3]);
        write(bootstrap, topic, codec, count);
        read(bootstrap, topic, count);
        System.out.println("compared " + count);
    }

    private static void write(String bootstrap, String topic, String codec, int count) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "compression.type", codec,
            "enable.idempotence", true, "acks", "all", "linger.ms", 5);
        List<Future<RecordMetadata>> sent = new ArrayList<>(count);
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < count; i++) {
                var record = new ProducerRecord<>(topic, 0, 1_700_000_000_000L + i, key(i), value(i));
                record.headers().add("n", header(i));
                sent.add(producer.send(record));
            }
        }
        for (int i = 0; i < count; i++) {
            expect(i, "offset", (long) i, sent.get(i).get().offset());
        }
    }

    private static void read(String bootstrap, String topic, int count) {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false);
        var partition = new TopicPartition(topic, 0);
        try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            int i = 0;
            long deadline = System.nanoTime() + Duration.ofMinutes(2).toNanos();
            while (i < count && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofSeconds(1))) {
                    expect(i, "offset", (long) i, r.offset());
                    expect(i, "timestamp", 1_700_000_000_000L + i, r.timestamp());
                    expect(i, "key", true, Arrays.equals(key(i), r.key()));
                    expect(i, "value", true, Arrays.equals(value(i), r.value()));
                    expect(i, "header", true, Arrays.equals(header(i), r.headers().lastHeader("n").value()));
                    i++;
                }
            }
            expect(i, "count", count, i);
            expect(i, "end", (long) count, consumer.endOffsets(List.of(partition)).get(partition));
        }
    }

    private static void expect(int i, String what, Object want, Object got) {
        if (!want.equals(got)) {
            throw new AssertionError("record " + i + ": " + what + " is " + got + ", want " + want);
        }
    }
}

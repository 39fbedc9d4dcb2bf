/** A new topic of a real Apache Kafka, and what it has. */
import { randomUUID } from 'node:crypto'
import { Admin, Consumer, MessagesStreamModes } from '@platformatic/kafka'
import type { KafkaRecord } from './kafka-broker.ts'

const PARTITIONS = 3

export async function createRealTopic(address: string): Promise<{
  brokers: string[]
  topic: string
  read(): Promise<KafkaRecord[]>
}> {
  const topic = `tollgate-${randomUUID()}`
  const client = { clientId: 'test', bootstrapBrokers: [address] }
  const admin = new Admin(client)
  await admin.createTopics({ topics: [topic], partitions: PARTITIONS, replicas: 1 })
  await admin.close()
  return { brokers: [address], topic, read: () => readAll(client, topic) }
}

async function readAll(
  client: { clientId: string; bootstrapBrokers: string[] },
  topic: string,
): Promise<KafkaRecord[]> {
  const consumer = new Consumer({ ...client, groupId: randomUUID() })
  const ends = (await consumer.listOffsets({ topics: [topic] })).get(topic) ?? []
  const total = Number(ends.reduce((sum, end) => sum + end, 0n))
  const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST })
  const records: KafkaRecord[] = []
  for await (const { partition, key, value } of stream) {
    records.push({ partition, key: String(key), value: String(value) })
    if (records.length === total) break
  }
  await consumer.close(true)
  return records
}

/**
 * The worker protocol: batches as messages between the main thread and worker threads. Node clones
 * an object together with the names of its fields, which costs more than charging most requests. An
 * array of numbers is copied as it is, and each recurring text is transferred once. Outcomes:
 * packed-outcomes.ts.
 */
import type {
  ChargeRequest,
  RequestKind,
  ServicePart,
  ServiceRequest,
  SubscriberKey,
} from './charge-request.ts'
import type { PackedResult } from './packed-outcomes.ts'
import { type Packed, TaskReader, TaskWriter } from './packed-values.ts'
import type { WorkerTask } from './worker-task.ts'

export type PackedTask = Packed

/** A batch sent to a worker thread, and its reply. Replies arrive in any order. */
export interface TaskMessage extends PackedTask {
  id: number
}
export type ReplyMessage = (PackedResult & { id: number }) | { id: number; error: unknown }

/** Shared by the thread, since a batch is written synchronously. */
const writer = new TaskWriter()

const KINDS: readonly RequestKind[] = ['start', 'update', 'release', 'event']
const ROLES: readonly ServicePart['role'][] = ['beside', 'preferred', 'held']
const SUBSCRIBER_KEYS: readonly SubscriberKey[] = ['sid', 'msisdn', 'imsi', 'none']
/** Written instead of a length for null. */
const NULL = -1

/** Flags of a request; kind and subscriber key are in the higher bits. */
const [TIME_GIVEN, BALANCES, PRETEND, REFUND, KIND, SUBSCRIBER_KEY] = [1, 2, 4, 8, 16, 64] as const
const [HAS_CLIENT, RECORD] = [256, 512] as const
/** Flags of a requested service. */
const [TOTAL, UNTAXED, CHECKS_CREDIT, HAS_IDENTIFIER, HAS_PARTS] = [1, 2, 4, 8, 16] as const
const OPENS_WITHOUT_CREDIT = 32

/** Numbers of tasks that may look up, and of those that may also ask a customer system. */
const [LOOK_UP, ASK] = [1, 2] as const

export function packTask({ requests, mayLookUp, mayAsk, deadlineMs }: WorkerTask): PackedTask {
  writer.begin()
  writer.number(!mayLookUp ? 0 : mayAsk === true ? ASK : LOOK_UP)
  writer.number(deadlineMs)
  writer.number(requests.length)
  for (let index = 0; index < requests.length; index += 1) {
    writeRequest(requests[index] as ChargeRequest)
  }
  return { numbers: writer.numbers(), texts: writer.texts }
}

export function unpackTask(packed: PackedTask): WorkerTask {
  const reader = new TaskReader(packed)
  const level = reader.number()
  const deadlineMs = reader.number()
  const count = reader.number()
  const requests: ChargeRequest[] = []
  for (let index = 0; index < count; index += 1) requests.push(readRequest(reader))
  const task = { requests, mayLookUp: level >= LOOK_UP, deadlineMs }
  return level === ASK ? { ...task, mayAsk: true } : task
}

function writeRequest(request: ChargeRequest): void {
  const { services } = request
  let bits = KINDS.indexOf(request.kind) * KIND
  bits += SUBSCRIBER_KEYS.indexOf(request.subscriberKey) * SUBSCRIBER_KEY
  if (request.eventTimeGiven) bits += TIME_GIVEN
  if (request.wantBalances) bits += BALANCES
  if (request.pretend) bits += PRETEND
  if (request.refund) bits += REFUND
  if (request.isRecord === true) bits += RECORD
  const { client = null } = request
  if (client !== null) bits += HAS_CLIENT
  writer.number(bits)
  writer.name(request.origin)
  writer.text(request.sessionId)
  writer.number(request.requestNumber)
  writer.text(request.stamp)
  writer.name(request.rules)
  writer.text(request.subscriberValue)
  writer.number(request.eventTimeMs)
  writeFields(request.fields)
  if (client !== null) {
    writer.name(client.name)
    writer.number(client.stateId)
  }
  writer.number(services.length)
  for (let index = 0; index < services.length; index += 1) {
    writeService(services[index] as ServiceRequest)
  }
}

function readRequest(reader: TaskReader): ChargeRequest {
  const bits = reader.number()
  const origin = reader.text()
  const sessionId = reader.text()
  const requestNumber = reader.number()
  const stamp = reader.text()
  const rules = reader.text()
  const subscriberValue = reader.text()
  const eventTimeMs = reader.number()
  const fields = readFields(reader)
  const client = bits & HAS_CLIENT ? { name: reader.text(), stateId: reader.number() } : null
  const count = reader.number()
  const services: ServiceRequest[] = []
  for (let index = 0; index < count; index += 1) services.push(readService(reader))
  const request: ChargeRequest = {
    kind: KINDS[(bits / KIND) & 3] as RequestKind,
    origin,
    sessionId,
    requestNumber,
    stamp,
    rules,
    subscriberKey: SUBSCRIBER_KEYS[(bits / SUBSCRIBER_KEY) & 3] as SubscriberKey,
    subscriberValue,
    eventTimeMs,
    eventTimeGiven: (bits & TIME_GIVEN) !== 0,
    services,
    wantBalances: (bits & BALANCES) !== 0,
    pretend: (bits & PRETEND) !== 0,
    refund: (bits & REFUND) !== 0,
    fields,
  }
  if (client !== null) request.client = client
  if (bits & RECORD) request.isRecord = true
  return request
}

function writeService(service: ServiceRequest): void {
  let bits = service.isTotal ? TOTAL : 0
  if (service.untaxed) bits += UNTAXED
  if (service.checksCredit) bits += CHECKS_CREDIT
  // Optional: most services have neither of the two.
  if (service.serviceIdentifier !== '') bits += HAS_IDENTIFIER
  if (service.parts !== null) bits += HAS_PARTS
  if (service.opensWithoutCredit === true) bits += OPENS_WITHOUT_CREDIT
  writer.number(bits)
  writer.number(service.ratingGroup)
  if (service.serviceIdentifier !== '') writer.name(service.serviceIdentifier)
  writer.name(service.usaget)
  writer.number(service.requested)
  writer.number(service.used)
  writer.number(service.usedBefore)
  writer.text(service.calledNumber)
  writer.name(service.rateKey)
  if (service.parts !== null) writeParts(service.parts)
  writeFields(service.fields)
}

function writeParts(parts: readonly ServicePart[]): void {
  writer.number(parts.length)
  for (const part of parts) {
    writer.name(part.usaget)
    writer.number(ROLES.indexOf(part.role))
    writer.number(part.requested)
    writer.number(part.used)
    writer.number(part.usedBefore)
  }
}

function readParts(reader: TaskReader): readonly ServicePart[] {
  const count = reader.number()
  const parts: ServicePart[] = []
  for (let index = 0; index < count; index += 1) {
    parts.push({
      usaget: reader.text(),
      role: ROLES[reader.number()] as ServicePart['role'],
      requested: reader.number(),
      used: reader.number(),
      usedBefore: reader.number(),
    })
  }
  return parts
}

function readService(reader: TaskReader): ServiceRequest {
  const bits = reader.number()
  const ratingGroup = reader.number()
  const serviceIdentifier = bits & HAS_IDENTIFIER ? reader.text() : ''
  const usaget = reader.text()
  const requested = reader.number()
  const used = reader.number()
  const usedBefore = reader.number()
  const calledNumber = reader.text()
  const rateKey = reader.text()
  const parts = bits & HAS_PARTS ? readParts(reader) : null
  const fields = readFields(reader)
  const service: ServiceRequest = {
    ratingGroup,
    serviceIdentifier,
    usaget,
    requested,
    used,
    usedBefore,
    isTotal: (bits & TOTAL) !== 0,
    calledNumber,
    rateKey,
    untaxed: (bits & UNTAXED) !== 0,
    checksCredit: (bits & CHECKS_CREDIT) !== 0,
    parts,
    fields,
  }
  if (bits & OPENS_WITHOUT_CREDIT) service.opensWithoutCredit = true
  return service
}

function writeFields(fields: ChargeRequest['fields']): void {
  if (fields === null) {
    writer.number(NULL)
    return
  }
  const names = Object.keys(fields)
  writer.number(names.length)
  for (const name of names) {
    writer.name(name)
    writer.name(fields[name] as string)
  }
}

function readFields(reader: TaskReader): ChargeRequest['fields'] {
  const count = reader.number()
  if (count === NULL) return null
  const entries: [string, string][] = []
  for (let index = 0; index < count; index += 1) entries.push([reader.text(), reader.text()])
  return Object.fromEntries(entries)
}

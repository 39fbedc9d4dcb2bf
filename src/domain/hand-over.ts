/**
 * Batches as they cross the boundary of a thread. Node clones an object with the names of all its
 * fields, which cost more than the charging of most requests; numbers that lie beside each other
 * are copied as they are, and of texts that return, each goes over once.
 */
import type { BalanceReport, ChargeOutcome, Quote, ServiceOutcome } from './charge-outcome.ts'
import { type Reason, reasons } from './charge-outcome.ts'
import type { ChargeRequest, RequestKind, ServiceRequest, SubscriberKey } from './charge-request.ts'
import type { WorkerResult, WorkerTask } from './worker-task.ts'

/** Fields in the order in which they are read again; a text is a number, its place in `texts`. */
interface Packed {
  numbers: Float64Array
  texts: string[]
}

export type PackedTask = Packed

export interface PackedResult extends Packed {
  /** They are few, and deep: cloned as they are. */
  quotes: Quote[]
  stats: Record<string, number>
}

/** A batch on its way to a thread, and its way back; they return in any order. */
export interface TaskMessage extends PackedTask {
  id: number
}
export type ReplyMessage = (PackedResult & { id: number }) | { id: number; error: unknown }

const KINDS: readonly RequestKind[] = ['start', 'update', 'release', 'event']
const SUBSCRIBER_KEYS: readonly SubscriberKey[] = ['sid', 'msisdn', 'imsi', 'none']
const REASONS = Object.keys(reasons) as Reason[]
const REASON_NUMBERS = new Map(REASONS.map((reason, index) => [reason, index]))
/** In the place of a reason: there is no outcome. */
const NO_OUTCOME = -1
/** In the place of a length: null. */
const NULL = -1

/** Bits of a request; kind and subscriber key are in the higher ones. */
const [TIME_GIVEN, BALANCES, PRETEND, REFUND, KIND, SUBSCRIBER_KEY] = [1, 2, 4, 8, 16, 64] as const
const HAS_CLIENT = 256
/** Bits of a service that is asked for. */
const [TOTAL, UNTAXED] = [1, 2] as const
/** Bits of the outcome of a service. */
const [FINAL_UNIT, QUOTE] = [1, 2] as const

export function packTask({ requests, mayLookUp, deadlineMs }: WorkerTask): PackedTask {
  writer.begin()
  writer.number(mayLookUp ? 1 : 0)
  writer.number(deadlineMs)
  writer.number(requests.length)
  for (let index = 0; index < requests.length; index += 1) {
    writeRequest(requests[index] as ChargeRequest)
  }
  return { numbers: writer.numbers(), texts: writer.texts }
}

export function unpackTask(packed: PackedTask): WorkerTask {
  const reader = new Reader(packed)
  const mayLookUp = reader.number() === 1
  const deadlineMs = reader.number()
  const count = reader.number()
  const requests: ChargeRequest[] = []
  for (let index = 0; index < count; index += 1) requests.push(readRequest(reader))
  return { requests, mayLookUp, deadlineMs }
}

export function packResult({ outcomes, stats }: WorkerResult): PackedResult {
  writer.begin()
  const quotes: Quote[] = []
  writer.number(outcomes.length)
  for (let index = 0; index < outcomes.length; index += 1) {
    const outcome = outcomes[index] as ChargeOutcome | null
    if (outcome === null) writer.number(NO_OUTCOME)
    else writeOutcome(outcome, quotes)
  }
  return { numbers: writer.numbers(), texts: writer.texts, quotes, stats }
}

export function unpackResult(packed: PackedResult): WorkerResult {
  const reader = new Reader(packed)
  const { quotes, stats } = packed
  const count = reader.number()
  const outcomes: (ChargeOutcome | null)[] = []
  let quotesRead = 0
  const nextQuote = () => quotes[quotesRead++] as Quote
  for (let index = 0; index < count; index += 1) outcomes.push(readOutcome(reader, nextQuote))
  return { outcomes, stats }
}

function writeRequest(request: ChargeRequest): void {
  const { services } = request
  let bits = KINDS.indexOf(request.kind) * KIND
  bits += SUBSCRIBER_KEYS.indexOf(request.subscriberKey) * SUBSCRIBER_KEY
  if (request.eventTimeGiven) bits += TIME_GIVEN
  if (request.wantBalances) bits += BALANCES
  if (request.pretend) bits += PRETEND
  if (request.refund) bits += REFUND
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

function readRequest(reader: Reader): ChargeRequest {
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
  return request
}

function writeService(service: ServiceRequest): void {
  writer.number((service.isTotal ? TOTAL : 0) + (service.untaxed ? UNTAXED : 0))
  writer.number(service.ratingGroup)
  writer.name(service.usaget)
  writer.number(service.requested)
  writer.number(service.used)
  writer.number(service.usedBefore)
  writer.text(service.calledNumber)
  writer.name(service.rateKey)
  writeFields(service.fields)
}

function readService(reader: Reader): ServiceRequest {
  const bits = reader.number()
  const ratingGroup = reader.number()
  const usaget = reader.text()
  const requested = reader.number()
  const used = reader.number()
  const usedBefore = reader.number()
  const calledNumber = reader.text()
  const rateKey = reader.text()
  const fields = readFields(reader)
  return {
    ratingGroup,
    usaget,
    requested,
    used,
    usedBefore,
    isTotal: (bits & TOTAL) !== 0,
    calledNumber,
    rateKey,
    untaxed: (bits & UNTAXED) !== 0,
    fields,
  }
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

function readFields(reader: Reader): ChargeRequest['fields'] {
  const count = reader.number()
  if (count === NULL) return null
  const entries: [string, string][] = []
  for (let index = 0; index < count; index += 1) entries.push([reader.text(), reader.text()])
  return Object.fromEntries(entries)
}

function writeOutcome(outcome: ChargeOutcome, quotes: Quote[]): void {
  const { services, balances } = outcome
  writer.number(REASON_NUMBERS.get(outcome.reason) as number)
  writer.name(outcome.detail)
  writer.number(outcome.aid)
  writer.number(outcome.sid)
  writer.text(outcome.transactionId)
  writer.number(outcome.cost)
  writer.number(services.length)
  for (let index = 0; index < services.length; index += 1) {
    writeServiceOutcome(services[index] as ServiceOutcome, quotes)
  }
  writer.number(balances === null ? NULL : balances.length)
  if (balances !== null) for (const balance of balances) writeBalance(balance)
}

function readOutcome(reader: Reader, nextQuote: () => Quote): ChargeOutcome | null {
  const reason = reader.number()
  if (reason === NO_OUTCOME) return null
  const detail = reader.text()
  const aid = reader.number()
  const sid = reader.number()
  const transactionId = reader.text()
  const cost = reader.number()
  const count = reader.number()
  const services: ServiceOutcome[] = []
  for (let index = 0; index < count; index += 1) {
    services.push(readServiceOutcome(reader, nextQuote))
  }
  const balances = readBalances(reader)
  return {
    reason: REASONS[reason] as Reason,
    detail,
    aid,
    sid,
    transactionId,
    services,
    cost,
    balances,
  }
}

function writeServiceOutcome(service: ServiceOutcome, quotes: Quote[]): void {
  const { quote } = service
  if (quote !== null) quotes.push(quote)
  writer.number((service.finalUnit ? FINAL_UNIT : 0) + (quote === null ? 0 : QUOTE))
  writer.number(service.ratingGroup)
  writer.name(service.usaget)
  writer.number(REASON_NUMBERS.get(service.reason) as number)
  writer.number(service.granted)
  writer.number(service.validityMs)
  writer.number(service.tariffChangeMs)
  writer.number(service.cost)
}

function readServiceOutcome(reader: Reader, nextQuote: () => Quote): ServiceOutcome {
  const bits = reader.number()
  const ratingGroup = reader.number()
  const usaget = reader.text()
  const reason = REASONS[reader.number()] as Reason
  const granted = reader.number()
  const validityMs = reader.number()
  const tariffChangeMs = reader.number()
  const cost = reader.number()
  return {
    ratingGroup,
    usaget,
    reason,
    granted,
    validityMs,
    tariffChangeMs,
    finalUnit: (bits & FINAL_UNIT) !== 0,
    cost,
    quote: (bits & QUOTE) === 0 ? null : nextQuote(),
  }
}

function writeBalance(balance: BalanceReport): void {
  writer.number(balance.prepaidIncludeId)
  writer.number(balance.kind === 'units' ? 0 : 1)
  writer.name(balance.usaget)
  writer.name(balance.counter)
  writer.number(balance.free)
  writer.number(balance.reserved)
  writer.number(balance.toMs)
}

function readBalances(reader: Reader): BalanceReport[] | null {
  const count = reader.number()
  if (count === NULL) return null
  const balances: BalanceReport[] = []
  for (let index = 0; index < count; index += 1) {
    const prepaidIncludeId = reader.number()
    const kind = reader.number() === 0 ? 'units' : 'money'
    const usaget = reader.text()
    const counter = reader.text()
    const free = reader.number()
    const reserved = reader.number()
    const toMs = reader.number()
    balances.push({ prepaidIncludeId, kind, usaget, counter, free, reserved, toMs })
  }
  return balances
}

/** Where there is room for a batch of the usual size; it grows once, if ever. */
const NUMBERS_FIRST = 4096

class Writer {
  texts: string[] = []
  #numbers = new Float64Array(NUMBERS_FIRST)
  #length = 0
  /** Places of texts that are likely to come again. */
  readonly #places = new Map<string, number>()

  begin(): void {
    // The first is the empty one, which most texts are.
    this.texts = ['']
    this.#length = 0
    this.#places.clear()
  }

  number(value: number): void {
    if (this.#length === this.#numbers.length) this.#grow()
    this.#numbers[this.#length] = value
    this.#length += 1
  }

  /** A text that is hardly ever that of another request. */
  text(text: string): void {
    this.number(text === '' ? 0 : this.texts.push(text) - 1)
  }

  /** A text that others are likely to have, too. */
  name(text: string): void {
    if (text === '') {
      this.number(0)
      return
    }
    let place = this.#places.get(text)
    if (place === undefined) {
      place = this.texts.push(text) - 1
      this.#places.set(text, place)
    }
    this.number(place)
  }

  numbers(): Float64Array {
    return this.#numbers.slice(0, this.#length)
  }

  #grow(): void {
    const grown = new Float64Array(this.#numbers.length * 2)
    grown.set(this.#numbers)
    this.#numbers = grown
  }
}

/** One for the thread: a batch is written in one go. */
const writer = new Writer()

class Reader {
  readonly #numbers: Float64Array
  readonly #texts: readonly string[]
  #at = 0

  constructor({ numbers, texts }: Packed) {
    this.#numbers = numbers
    this.#texts = texts
  }

  /** Small integers as such: as floating point each would be an object on the heap. */
  number(): number {
    const value = this.#numbers[this.#at] as number
    this.#at += 1
    const small = value | 0
    return small === value ? small : value
  }

  text(): string {
    const place = this.#numbers[this.#at] as number
    this.#at += 1
    return this.#texts[place] as string
  }
}

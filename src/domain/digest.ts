import type { ChargeRequest, ServicePart, ServiceRequest } from './charge-request.ts'
import { codeAt, lengthOf } from './text-codes.ts'

/** Codes of single characters, which need no loop. */
const [COMMA, LESS, EQUALS, AT, P, R] = [44, 60, 61, 64, 112, 114] as const

/**
 * A digest of 53 bits that distinguishes a retransmission from a reused request number. An event
 * time supplied by the node itself is left out, since it differs with each arrival. A stamp
 * replaces everything except number, subscriber and kind. Digests are stored with open sessions:
 * the fields and their order must never change.
 */
export function digestOf(request: ChargeRequest): number {
  mixer.begin()
  mixer.text(request.kind)
  mixer.text(request.subscriberKey)
  mixer.code(0)
  mixer.text(request.subscriberValue)
  mixer.code(0)
  mixer.integer(request.requestNumber)
  if (request.pretend) mixer.code(P)
  if (request.refund) mixer.code(R)
  if (request.stamp !== '') {
    mixer.code(3)
    mixer.text(request.stamp)
    return mixer.digest()
  }
  if (request.eventTimeGiven) {
    mixer.code(AT)
    mixer.integer(request.eventTimeMs)
  }
  for (const service of request.services) mixService(service)
  mixFields(request.fields)
  return mixer.digest()
}

/** A digest of 53 bits of a list of texts. */
export function digestOfTexts(texts: readonly string[]): number {
  mixer.begin()
  for (const text of texts) {
    mixer.text(text)
    mixer.code(0)
  }
  return mixer.digest()
}

function mixService(service: ServiceRequest): void {
  mixer.code(1)
  mixer.integer(service.ratingGroup)
  mixer.code(COMMA)
  mixer.text(service.usaget)
  mixer.code(COMMA)
  mixer.integer(service.requested)
  mixer.code(COMMA)
  mixer.integer(service.used)
  if (service.usedBefore >= 0) {
    mixer.code(LESS)
    mixer.integer(service.usedBefore)
  }
  mixer.code(COMMA)
  mixer.text(service.calledNumber)
  mixer.text(service.rateKey)
  if (service.serviceIdentifier !== '') {
    mixer.code(4)
    mixer.text(service.serviceIdentifier)
  }
  if (service.parts !== null) for (const part of service.parts) mixPart(part)
  mixFields(service.fields)
}

function mixPart({ usaget, requested, used, usedBefore }: ServicePart): void {
  mixer.code(5)
  mixer.text(usaget)
  mixer.code(COMMA)
  mixer.integer(requested)
  mixer.code(COMMA)
  mixer.integer(used)
  mixer.code(LESS)
  mixer.integer(usedBefore)
}

function mixFields(fields: ChargeRequest['fields']): void {
  if (fields === null) return
  for (const name of Object.keys(fields)) {
    mixer.code(2)
    mixer.text(name)
    mixer.code(EQUALS)
    mixer.text(String(fields[name]))
  }
}

const DIGIT_ZERO = 48
const HIGH_FACTOR = 2654435761
const LOW_FACTOR = 1597334677

/** Mixes UTF-16 code units into two words in place, without allocating. */
class Mixer {
  #high = 0
  #low = 0
  readonly #digits = new Uint8Array(16)

  begin(): void {
    this.#high = 0xdeadbeef | 0
    this.#low = 0x41c6ce57
  }

  code(code: number): void {
    this.#high = Math.imul(this.#high ^ code, HIGH_FACTOR)
    this.#low = Math.imul(this.#low ^ code, LOW_FACTOR)
  }

  text(text: string): void {
    let high = this.#high
    let low = this.#low
    const length = lengthOf(text)
    for (let index = 0; index < length; index += 1) {
      const code = codeAt(text, index)
      high = Math.imul(high ^ code, HIGH_FACTOR)
      low = Math.imul(low ^ code, LOW_FACTOR)
    }
    this.#high = high
    this.#low = low
  }

  /** Mixes the same decimal digits that `String` returns. */
  integer(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      this.text(String(value))
      return
    }
    const digits = this.#digits
    let count = 0
    let left = value
    do {
      const rest = Math.floor(left / 10)
      digits[count] = left - rest * 10
      count += 1
      left = rest
    } while (left > 0)
    let high = this.#high
    let low = this.#low
    while (count > 0) {
      count -= 1
      const code = DIGIT_ZERO + (digits[count] as number)
      high = Math.imul(high ^ code, HIGH_FACTOR)
      low = Math.imul(low ^ code, LOW_FACTOR)
    }
    this.#high = high
    this.#low = low
  }

  digest(): number {
    const low = finish(this.#low)
    return 4294967296 * (2097151 & (finish(this.#high) ^ this.#low)) + (low >>> 0)
  }
}

const mixer = new Mixer()

function finish(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 2246822507)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 3266489909)
  return mixed ^ (mixed >>> 16)
}

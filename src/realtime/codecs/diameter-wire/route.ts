/** Origin and destination of a request, read before the rest is decoded. */
import { uint24At, uint32At } from './bytes.ts'
import { avpCode, avpFlags, HEADER_BYTES } from './protocol.ts'

/**
 * Decodes a text that usually is the same as in the message before, such as the Origin-Host of a
 * connection. Comparing its bytes is cheaper than decoding them, and the same string is cheaper to
 * look up than an equal one.
 */
export class RecurringText {
  /** The last text of plain ASCII. */
  #last = ''

  read(bytes: Buffer, from: number, to: number): string {
    const last = this.#last
    const { length } = last
    let at = 0
    if (length === to - from) {
      while (at < length && last.charCodeAt(at) === bytes[from + at]) at += 1
      if (at === length) return last
    }
    const text = bytes.toString('utf8', from, to)
    // As many characters as bytes: ASCII, or a replacement character, which equals no byte.
    if (text.length === to - from) this.#last = text
    return text
  }
}

/** Texts are empty if the AVP is missing. The first of repeated AVPs counts. */
export interface DiameterRoute {
  sessionId: string
  originHost: string
  originRealm: string
  destinationHost: string
  destinationRealm: string
  /** CC-Request-Type; -1 if it is missing. */
  requestType: number
  /** Origin-State-Id; 0 if it is missing or states that nothing is to be inferred from it. */
  originStateId: number
}

/** Names that the messages of a connection share. */
const names = {
  originHost: new RecurringText(),
  originRealm: new RecurringText(),
  destinationHost: new RecurringText(),
  destinationRealm: new RecurringText(),
}

/** Reads top-level AVPs only. Never throws: it stops at an AVP with an invalid length. */
export function routeOf(bytes: Buffer): DiameterRoute {
  const route: DiameterRoute = {
    sessionId: '',
    originHost: '',
    originRealm: '',
    destinationHost: '',
    destinationRealm: '',
    requestType: -1,
    originStateId: 0,
  }
  const end = bytes.length
  for (let at = HEADER_BYTES; at + 8 <= end; ) {
    const length = uint24At(bytes, at + 5)
    if (length < 8 || length > end - at) break
    const hasVendor = ((bytes[at + 4] as number) & avpFlags.vendor) !== 0
    const code = uint32At(bytes, at)
    const isNamed = code >= avpCode.sessionId && code <= avpCode.originRealm
    if ((isNamed || code === avpCode.ccRequestType) && !hasVendor) {
      take(route, code, bytes, at + 8, at + length)
    }
    at += (length + 3) & ~3
  }
  return route
}

function take(route: DiameterRoute, code: number, bytes: Buffer, from: number, to: number): void {
  switch (code) {
    case avpCode.sessionId:
      route.sessionId ||= bytes.toString('utf8', from, to)
      break
    case avpCode.originHost:
      route.originHost ||= names.originHost.read(bytes, from, to)
      break
    case avpCode.originRealm:
      route.originRealm ||= names.originRealm.read(bytes, from, to)
      break
    case avpCode.destinationHost:
      route.destinationHost ||= names.destinationHost.read(bytes, from, to)
      break
    case avpCode.destinationRealm:
      route.destinationRealm ||= names.destinationRealm.read(bytes, from, to)
      break
    case avpCode.originStateId:
      if (route.originStateId === 0 && to - from === 4) route.originStateId = uint32At(bytes, from)
      break
    case avpCode.ccRequestType:
      if (route.requestType < 0 && to - from === 4) route.requestType = uint32At(bytes, from)
      break
  }
}

/** A gateway whose messages are charged in memory, by the built-in file type. */
import { RatingFixture } from '../../../rating/rating-fixture.ts'
import { builtIn, context as decoding, formatOf } from './file-type.ts'

export type Avps = Record<string, unknown>

const TYPES = ['', 'start', 'update', 'release', 'event']

export class Gateway {
  readonly scene: RatingFixture
  readonly #codec: ReturnType<typeof formatOf>
  #number = 0

  /** `realtime`: replaces settings of this section of the file type. */
  constructor(scene = new RatingFixture(), realtime: Record<string, unknown> = {}) {
    this.scene = scene
    const document = builtIn()
    this.#codec = formatOf({ ...document, realtime: { ...document.realtime, ...realtime } })
  }

  /** The answer to a CCR with the next number. */
  send(type: 'I' | 'U' | 'T' | 'E', avps: Avps = {}): Avps {
    const number = this.#number
    this.#number += 1
    return this.sendAs(number, type, avps)
  }

  sendAs(number: number, type: 'I' | 'U' | 'T' | 'E', avps: Avps): Avps {
    const message = {
      'Session-Id': 's',
      'CC-Request-Type': ['', 'I', 'U', 'T', 'E'].indexOf(type),
      'CC-Request-Number': number,
      'Service-Context-Id': '32251@3gpp.org',
      'Subscription-Id': { 'Subscription-Id-Type': 4, 'Subscription-Id-Data': '7' },
      ...avps,
    }
    const context = { ...decoding, nowMs: this.scene.nowMs }
    const codec = this.#codec
    const decoded = codec.decode(Buffer.from(JSON.stringify(message)), context)
    if (!decoded.ok) return JSON.parse(codec.encodeError(decoded.error))
    const { request, envelope } = decoded
    if (request === null) throw new Error('nothing is charged')
    if (request.kind !== TYPES[message['CC-Request-Type']]) throw new Error(request.kind)
    return JSON.parse(codec.encode(envelope, this.scene.send(request)))
  }

  /** The answers to several services of a message, in the order of the answer. */
  ask(
    type: 'I' | 'U' | 'T',
    services: readonly Avps[],
    more: Avps = {},
  ): readonly [Avps, ...Avps[]] {
    const list = { 'Multiple-Services-Credit-Control': services }
    const answer = this.send(type, { ...list, ...more })
    return answer['Multiple-Services-Credit-Control'] as readonly [Avps, ...Avps[]]
  }
}

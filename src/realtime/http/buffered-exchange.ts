import type { AnswerOptions, Exchange, HttpStatus } from './exchange.ts'

type OnBody = (body: Buffer) => void
type OnTooLarge = (isAnnounced: boolean) => void

/**
 * An exchange whose body is read immediately, as servers require, and kept until it is requested,
 * any number of times. So a request can be authenticated asynchronously meanwhile.
 */
export class BufferedExchange implements Exchange {
  readonly #exchange: Exchange
  #body: Buffer | null = null
  /** Whether the length of a body that is too large was announced; null if it is not too large. */
  #isAnnounced: boolean | null = null
  #onBody: OnBody | null = null
  #onTooLarge: OnTooLarge | null = null

  /** `bytesMax`: limit of all readers; null if there is no body. */
  constructor(exchange: Exchange, bytesMax: number | null) {
    this.#exchange = exchange
    if (bytesMax === null) return
    exchange.readBody(
      bytesMax,
      (body) => {
        this.#body = Buffer.from(body)
        this.#onBody?.(this.#body)
      },
      (isAnnounced) => {
        this.#isAnnounced = isAnnounced
        this.#onTooLarge?.(isAnnounced)
      },
    )
  }

  get isGone(): boolean {
    return this.#exchange.isGone
  }

  readBody(_bytesMax: number, onBody: OnBody, onTooLarge: OnTooLarge): void {
    if (this.#isAnnounced !== null) onTooLarge(this.#isAnnounced)
    else if (this.#body !== null) onBody(this.#body)
    else {
      this.#onBody = onBody
      this.#onTooLarge = onTooLarge
    }
  }

  answer(status: HttpStatus, contentType: string, text: string, options?: AnswerOptions): void {
    this.#exchange.answer(status, contentType, text, options)
  }

  remoteAddress(): string {
    return this.#exchange.remoteAddress()
  }

  certificateNames(): readonly string[] | null {
    return this.#exchange.certificateNames()
  }
}

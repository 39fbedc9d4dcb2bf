import type { Framing } from '../../runtime/http-framing.ts'

/** One HTTP request and its answer, independent of the server. */
export interface Exchange {
  /** The client has disconnected, or has been answered. */
  readonly isGone: boolean
  /**
   * Collects a body of up to `bytesMax` bytes and passes it to `onBody` once; valid during the call
   * only. A longer body is reported once: by its declared length (`isAnnounced`), or when it
   * exceeds the limit.
   */
  readBody(
    bytesMax: number,
    onBody: (body: Buffer) => void,
    onTooLarge: (isAnnounced: boolean) => void,
  ): void
  /**
   * Answers once; later calls, and calls after the client has disconnected, do nothing. Answers to
   * methods other than POST forbid caching.
   */
  answer(status: HttpStatus, contentType: string, text: string, options?: AnswerOptions): void
  /**
   * Address of the client: IPv4 with dots, also for IPv4-mapped addresses, otherwise IPv6 in its
   * shortest form. Empty if the client has disconnected.
   */
  remoteAddress(): string
  /** Names in the client's certificate, in lower case; null if it has presented none. */
  certificateNames(): readonly string[] | null
}

export interface AnswerOptions {
  /** An additional header, such as `Allow` or `Retry-After`. */
  readonly header?: readonly [name: string, value: string]
  /** Whether the answer closes the connection; later requests on it are then ignored. */
  readonly closeConnection?: boolean
}

export const statusTexts = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  411: 'Length Required',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  503: 'Service Unavailable',
} as const

export type HttpStatus = keyof typeof statusTexts

/** Parts of the request head that determine its handling. Absent texts are ''. */
export interface Head {
  /** In upper case. */
  readonly method: string
  /** As sent, without the query. */
  readonly path: string
  /** Does not include the question mark. */
  readonly query: string
  readonly contentType: string
  /** Header `Authorization`; null if absent, which differs from empty. */
  readonly authorization: string | null
  /** Header `X-Api-Key`; null if absent. */
  readonly apiKey: string | null
  /** Header `Host`. */
  readonly host: string
  /** Whether a page in a browser sent it (`Origin`, `Sec-Fetch-Site`). */
  readonly isBrowser: boolean
  readonly framing: Framing
  /** Whether the server accepts chunked bodies. */
  readonly readsChunks: boolean
}

/** Header of answers that could be cached. */
export const NO_STORE = ['Cache-Control', 'no-store'] as const

/** Whether the answer could be cached, which is the case for methods assumed to be safe. */
export function isCacheable({ method }: Pick<Head, 'method'>): boolean {
  return method !== 'POST'
}

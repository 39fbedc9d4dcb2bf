import type { Framing } from '../../runtime/http-framing.ts'

/** One HTTP request and its answer, whichever server has taken it. */
export interface Exchange {
  /** The client has gone, or has its answer. */
  readonly isGone: boolean
  /**
   * Collects the body, up to `bytesMax`, and hands it over once; valid during the call only. A
   * longer one is reported once: by its declared length, or when it grows too long.
   */
  readBody(
    bytesMax: number,
    onBody: (body: Buffer) => void,
    onTooLarge: (isAnnounced: boolean) => void,
  ): void
  /**
   * Answers once; later calls, and calls after the client has gone, do nothing. No cache may keep
   * what is answered to anything but a POST.
   */
  answer(status: HttpStatus, contentType: string, text: string, options?: AnswerOptions): void
  /**
   * Address of the client, as text: IPv4 with dots, also where it came over IPv6, else IPv6 in its
   * shortest form. Empty if the client has gone.
   */
  remoteAddress(): string
  /** Names in the certificate of the client, in lower case; null if it has shown none. */
  certificateNames(): readonly string[] | null
}

export interface AnswerOptions {
  /** One more header, such as `Allow` or `Retry-After`. */
  readonly header?: readonly [name: string, value: string]
  /** Whether the connection ends with the answer, and no later request of it is taken. */
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

/** What of the head of a request decides what becomes of it. Texts are '' if absent. */
export interface Head {
  /** In capitals. */
  readonly method: string
  /** As it was sent, without the query. */
  readonly path: string
  /** Without its question mark. */
  readonly query: string
  readonly contentType: string
  /** The header `Authorization`; null if there is none, which is not the same as an empty one. */
  readonly authorization: string | null
  /** The header `X-Api-Key`; null likewise. */
  readonly apiKey: string | null
  /** The header `Host`. */
  readonly host: string
  /** Whether a page in a browser sent it (`Origin`, `Sec-Fetch-Site`). */
  readonly isBrowser: boolean
  readonly framing: Framing
  /** Whether the server takes bodies in chunks. */
  readonly readsChunks: boolean
}

/** Header of answers that caches could keep. */
export const NO_STORE = ['Cache-Control', 'no-store'] as const

/** Whether caches could keep the answer: they keep what they think is read only. */
export function isCacheable({ method }: Pick<Head, 'method'>): boolean {
  return method !== 'POST'
}

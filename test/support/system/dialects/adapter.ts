/** How a network element of the tests speaks: the fields of plain JSON, written in its dialect. */
import type { Client } from '../../product/charge-client.ts'
import type { Fields } from '../exchange.ts'

/** Sends a request and gives its answer. Rejects with `ConnectionLostError`. */
export type Connection = Pick<Client, 'post' | 'close'>

export interface DialectAdapter {
  name: string
  path: string
  contentType: string
  /** A connection, where it is not one of HTTP. */
  open?(): Connection
  /** What the lines have in the place of a session id, if it is another. */
  lineSessionId?(sessionId: string): string
  /** Reports are written as totals of the session so far. */
  countsTotals?: boolean
  /** A request of the plain JSON dialect, in this one. */
  write(fields: Fields): string
  /** An answer of this dialect, with the names of plain JSON. */
  read(text: string): Fields
}

export const plainJson: DialectAdapter = {
  name: 'json',
  path: '/realtime',
  contentType: 'application/json',
  write: (fields) => JSON.stringify(fields),
  read: (text) => JSON.parse(text) as Fields,
}

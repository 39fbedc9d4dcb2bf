/** The HTTP request of a notification, and its signature. Pure. */
import { createHmac } from 'node:crypto'
import type { NotificationDocument } from '../catalog/records/events/event-document.ts'
import type { NotificationSettings } from '../catalog/settings/events/notification-settings.ts'
import type { OutgoingCall } from '../external/outgoing.ts'
import { DeliveryError } from './failure.ts'
import { formOf, payloadOf } from './payload.ts'

/** Receiver and form of an event: its rule comes before the settings. */
export interface ResolvedReceiver {
  readonly url: string
  readonly method: 'get' | 'post'
  readonly decoder: 'json' | 'xml'
  readonly encoding: 'form' | 'json'
}

/** Null if neither the rule nor the settings have an address. */
export function resolveReceiver(
  { receiver = {} }: Pick<NotificationDocument, 'receiver'>,
  { http }: Pick<NotificationSettings, 'http'>,
): ResolvedReceiver | null {
  const url = receiver.url ?? http.url
  if (url === null) return null
  const { encoding } = http
  const method = receiver.method ?? http.method
  const decoder = receiver.decoder ?? http.decoder
  return {
    url,
    method: method === 'post' ? 'post' : 'get',
    decoder: decoder === 'xml' ? 'xml' : 'json',
    encoding,
  }
}

export interface AttemptTimes {
  /** When the attempt begins, by the clock of the installation. */
  readonly startMs: number
  /** Real time: the receiver compares it with its own clock. */
  readonly signedMs: number
}

/** Throws `DeliveryError` if the address of the receiver is not a URL. */
export function requestOf(
  event: NotificationDocument,
  receiver: ResolvedReceiver,
  secret: string | null,
  { startMs, signedMs }: AttemptTimes,
): OutgoingCall {
  if (!URL.canParse(receiver.url)) throw new DeliveryError('settings', 'its address is not a URL')
  const url = new URL(receiver.url)
  url.hash = ''
  const payload = payloadOf(event, startMs)
  const isPost = receiver.method === 'post'
  const isJson = isPost && receiver.encoding === 'json'
  if (!isPost) url.search = [url.search.slice(1), formOf(payload)].filter(Boolean).join('&')
  const body = isJson ? JSON.stringify(payload) : formOf(payload)
  const method = isPost ? 'POST' : 'GET'
  const seconds = Math.floor(signedMs / 1000)
  const signed = [seconds, method, `${url.pathname}${url.search}`, isPost ? body : ''].join('\n')
  return {
    method,
    url: url.href,
    headers: {
      accept: receiver.decoder === 'xml' ? 'application/xml, text/xml' : 'application/json',
      'user-agent': 'tollgate',
      ...(isPost && {
        'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
      }),
      ...(secret !== null && {
        'tollgate-signature': `t=${seconds},v1=${signatureOf(secret, signed)}`,
      }),
    },
    ...(isPost && { body }),
  }
}

function signatureOf(secret: string, signed: string): string {
  return createHmac('sha256', secret).update(signed, 'utf8').digest('hex')
}

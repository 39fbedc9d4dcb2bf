/** Media types that a request may have, by message format. */
import { FORM_TYPE, REQUEST_TYPES } from '../../file-types/media-types.ts'
import type { MessageFormat } from '../message-formats.ts'

export type MediaKind = 'none' | 'json' | 'xml' | 'form' | 'text' | 'other'

/** The kind of a `Content-Type`, ignoring its parameters; `none` if the header is absent. */
export function mediaKind(contentType: string): MediaKind {
  if (contentType === '') return 'none'
  if (contentType === 'application/json') return 'json'
  const end = contentType.indexOf(';')
  const type = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  const kind = kinds.get(type)
  if (kind !== undefined) return kind
  if (type.endsWith('+json')) return 'json'
  return type.endsWith('+xml') ? 'xml' : 'other'
}

/**
 * Whether a message format accepts it. All accept a form, whose parameter `request` holds the
 * message.
 */
export function accepts(parser: MessageFormat['parser'], kind: MediaKind): boolean {
  return kind === 'none' || kind === 'form' || kind === kindOf[parser]
}

const kindOf = {
  json: 'json',
  diameter: 'json',
  xml: 'xml',
  key_value: 'text',
} as const satisfies Record<MessageFormat['parser'], MediaKind>

const kinds: ReadonlyMap<string, MediaKind> = new Map<string, MediaKind>([
  [FORM_TYPE, 'form'],
  ...(['json', 'xml', 'key_value'] as const).flatMap((parser) =>
    REQUEST_TYPES[parser].map((type) => [type, kindOf[parser]] as const),
  ),
])

/** Error text about the header, by parser. */
export const requiredContentTypes = {
  json: 'must be application/json',
  diameter: 'must be application/json',
  xml: 'must be application/xml',
  key_value: 'must be application/x-www-form-urlencoded or text/plain',
} as const satisfies Record<MessageFormat['parser'], string>

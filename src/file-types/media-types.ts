/** Media types of messages over HTTP: of requests by their parser, of answers by their encoder. */
import { type EncoderSettings, isForm, type ParserSettings } from './file-type.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'
const JSON_TYPES = ['application/json', 'text/json'] as const

/** Besides forms, which each file type accepts. */
export const REQUEST_TYPES = {
  json: JSON_TYPES,
  diameter: JSON_TYPES,
  xml: ['application/xml', 'text/xml'],
  key_value: ['text/plain'],
} as const satisfies Record<ParserSettings['type'], readonly string[]>

export function answerTypeOf(encoder: EncoderSettings): string {
  switch (encoder.type) {
    case 'xml':
      return 'text/xml; charset=utf-8'
    case 'key_value':
      return isForm(encoder) ? FORM_TYPE : 'text/plain; charset=utf-8'
    default:
      return 'application/json'
  }
}

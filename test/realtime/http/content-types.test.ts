import { expect, it } from 'vitest'
import { accepts, mediaKind } from '../../../src/realtime/http/content-types.ts'

it.each([
  ['', 'none'],
  ['application/json', 'json'],
  ['Application/JSON; charset=utf-8', 'json'],
  ['application/json;', 'json'],
  [' application/json ;a=b', 'json'],
  ['text/json', 'json'],
  ['application/vnd.3gpp+json', 'json'],
  ['text/plain', 'text'],
  ['application/xml', 'xml'],
  ['text/xml; charset=utf-8', 'xml'],
  ['application/soap+xml', 'xml'],
  ['application/x-www-form-urlencoded; charset=UTF-8', 'form'],
  ['multipart/form-data; boundary=x', 'other'],
  ['application/jsonp', 'other'],
  ['json', 'other'],
  [';', 'other'],
  [' ', 'other'],
])('%j is %s', (contentType, kind) => {
  expect(mediaKind(contentType)).toBe(kind)
})

it.each([
  ['json', ['json', 'none', 'form']],
  ['diameter', ['json', 'none', 'form']],
  ['xml', ['xml', 'none', 'form']],
  ['key_value', ['text', 'none', 'form']],
] as const)('%s accepts its own type, forms, and no type', (parser, kinds) => {
  for (const kind of ['json', 'xml', 'text', 'none', 'form', 'other'] as const) {
    expect(accepts(parser, kind)).toBe((kinds as readonly string[]).includes(kind))
  }
})

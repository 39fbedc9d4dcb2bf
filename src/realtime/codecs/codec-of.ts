import type {
  EncoderSettings,
  FileType,
  ParserSettings,
  ResponseNode,
} from '../../file-types/file-type.ts'
import { parseJsonMessage } from '../../file-types/json-message.ts'
import type { Codec } from './codec.ts'
import { diameterMessageParser } from './diameter/diameter-message.ts'
import { createDiameterEncoder } from './diameter/encode-diameter.ts'
import type { AnswerEncoder, MessageParser } from './encoder.ts'
import { createJsonEncoder } from './json/mapped-encoder.ts'
import { createKeyValueEncoder } from './key-value/encoder.ts'
import { createKeyValueParser } from './key-value/parser.ts'
import { createMappedCodec, type MappedEnvelope } from './mapped.ts'
import { createXmlEncoder } from './xml/encoder.ts'
import { xmlParser } from './xml/parser.ts'

/** Codec of a file type, with the parser and encoder that its document specifies. */
export function codecOf(fileType: FileType): Codec<MappedEnvelope> {
  const { encoder, parser, response } = fileType
  return createMappedCodec(fileType, parserOf(parser), encoderOf(encoder, response))
}

export function parserOf(settings: ParserSettings): MessageParser {
  switch (settings.type) {
    case 'json':
      return jsonMessageParser
    case 'diameter':
      return diameterMessageParser
    case 'key_value':
      return createKeyValueParser(settings)
    case 'xml':
      return xmlParser
  }
}

function encoderOf(settings: EncoderSettings, nodes: readonly ResponseNode[]): AnswerEncoder {
  switch (settings.type) {
    case 'json':
      return createJsonEncoder(nodes)
    case 'diameter':
      return createDiameterEncoder(nodes)
    case 'key_value':
      return createKeyValueEncoder(nodes, settings)
    case 'xml':
      return createXmlEncoder(nodes, settings.root)
  }
}

const jsonMessageParser: MessageParser = {
  parse(body) {
    const message = parseJsonMessage(body)
    if (typeof message !== 'string') return { ok: true, message, form: null }
    return { ok: false, error: { field: 'body', why: message }, form: null }
  },
}

import type {
  EncoderSettings,
  FileType,
  ParserSettings,
  ResponseNode,
} from '../../catalog/file-types/file-type.ts'
import type { Codec } from './codec.ts'
import { createJsonEncoder } from './encode-json.ts'
import { createKeyValueEncoder } from './encode-key-value.ts'
import { createXmlEncoder } from './encode-xml.ts'
import type { AnswerEncoder, MessageParser } from './encoder.ts'
import { jsonMessageParser } from './json-message.ts'
import { createKeyValueParser } from './key-value.ts'
import { createMappedCodec, type MappedEnvelope } from './mapped.ts'
import { xmlParser } from './xml.ts'

/** The dialect of a file type, with the parser and the encoder that its document names. */
export function codecOf(fileType: FileType): Codec<MappedEnvelope> {
  const { encoder, parser, response } = fileType
  return createMappedCodec(fileType, parserOf(parser), encoderOf(encoder, response))
}

function parserOf(settings: ParserSettings): MessageParser {
  switch (settings.type) {
    case 'json':
      return jsonMessageParser
    case 'key_value':
      return createKeyValueParser(settings)
    case 'xml':
      return xmlParser
    default:
      throw new Error(`there is no parser of ${settings.type} messages`)
  }
}

function encoderOf(settings: EncoderSettings, nodes: readonly ResponseNode[]): AnswerEncoder {
  switch (settings.type) {
    case 'json':
      return createJsonEncoder(nodes)
    case 'key_value':
      return createKeyValueEncoder(nodes, settings)
    case 'xml':
      return createXmlEncoder(nodes, settings.root)
    default:
      throw new Error(`there is no encoder of ${settings.type} answers`)
  }
}

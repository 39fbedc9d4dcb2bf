/** The message as it was sent, with its first wrong byte marked. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../../words/words.ts'
import type { Typed } from './data.ts'
import { bytesOfHex, hexRows } from './hexadecimal.ts'
import { markedText, visibleCharacter } from './position.ts'

interface SourceProps {
  readonly typed: Typed
  /** In bytes. */
  readonly offset: number
}

export function Source({ typed, offset }: SourceProps) {
  const { bytes } = typed.form === 'hex' ? bytesOfHex(typed.message) : { bytes: null }
  if (bytes === null) return <TextSource text={typed.message} offset={offset} />
  return (
    <MarkedBlock place={t('filetypes.byte', { offset })}>
      {hexRows(bytes, offset).map((row) => (
        <span key={row.offset} class="hex-row">
          <span class="muted">{row.offset.toString(16).padStart(4, '0')}</span>
          <span>
            {row.cells.map(({ hex, isMarked }, index) => (
              <span key={index}>{isMarked ? <Marked sign={hex} /> : hex} </span>
            ))}
          </span>
          <span>{row.text}</span>
        </span>
      ))}
    </MarkedBlock>
  )
}

function TextSource({ text, offset }: { readonly text: string; readonly offset: number }) {
  const { before, marked, after, line, column } = markedText(text, offset)
  const isEnd = marked === ''
  return (
    <MarkedBlock
      place={t(isEnd ? 'filetypes.placeEnd' : 'filetypes.place', { line, column, offset })}
    >
      {before}
      <Marked sign={visibleCharacter(marked)} />
      {marked === '\n' ? '\n' : ''}
      {after}
    </MarkedBlock>
  )
}

/** At the end of the message there is no byte to mark. */
function Marked({ sign }: { readonly sign: string }) {
  return <mark>{sign === '' ? t('filetypes.end') : sign}</mark>
}

interface MarkedBlockProps {
  readonly place: string
  readonly children: ComponentChildren
}

/** Scrolls itself, not the page, to the mark. */
function MarkedBlock({ place, children }: MarkedBlockProps) {
  const ref = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const block = ref.current
    const mark = block?.querySelector('mark')
    if (block && mark) block.scrollTop = mark.offsetTop - block.offsetTop - block.clientHeight / 2
  }, [place, children])
  return (
    <figure>
      <figcaption>{place}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it. */}
      <pre ref={ref} class="source" tabIndex={0}>
        {children}
      </pre>
    </figure>
  )
}

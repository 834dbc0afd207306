declare module 'virtual:operations' {
  const known: ReadonlySet<string>
  export default known
}

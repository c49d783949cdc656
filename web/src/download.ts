/** Follow an address that the server gave, as a download. */
import { address } from "./net";

export function fetchFile(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url.startsWith("blob:") ? url : address(url);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

// Memories, links and drivers around endpoints and a switch; no part of the product. What they print
// is an object of JSON in each line.

// A direction of a link: so many cycles long; loses or flips a flit in so many millionths.
module line #(parameter WIDTH = 1, CYCLES = 1) (
  input clk, input [31:0] faults, input [31:0] seed, input valid, input [WIDTH-1:0] flit, output out_valid, output [WIDTH-1:0] out_flit
);
  reg [WIDTH:0] stages [0:CYCLES-1];
  reg [31:0] dice = 0;
  integer i;
  wire hit = (dice >> 4) % 1000000 < faults;
  assign {out_valid, out_flit} = stages[CYCLES-1];
  initial for (i = 0; i < CYCLES; i = i + 1) stages[i] = 0;
  always @(posedge clk) begin
    dice <= (dice == 0 ? seed : dice) * 32'd1664525 + 32'd1013904223;
    for (i = 1; i < CYCLES; i = i + 1) stages[i] <= stages[i-1];
    stages[0] <= {(valid === 1'b1) & ~(hit & dice[31]), flit ^ {{(WIDTH-1){1'b0}}, hit}};
    if (valid === 1'b1 && hit) $display("{\"faults\": 1}");
  end
endmodule

// Watches a stream that leaves a unit, whose registers and memories begin undefined: out of reset
// valid is known, and with it the payload.
module known #(parameter WIDTH = 1) (input clk, input rst, input valid, input [WIDTH-1:0] payload);
  always @(posedge clk) if (!rst && (^valid === 1'bx || (valid && ^payload === 1'bx))) begin
    $display("{\"failed\": \"%m is undefined\"}");
    $finish;
  end
endmodule

// A port to read a memory that has the word of a place at once: answers after so many cycles.
module read_port #(parameter BITS = 8, SHIFT = 0, DEPTH = 1, CYCLES = 1) (
  input clk, input rst, input calm, output [39:0] place, input [BITS-1:0] word,
  input read_valid, output read_ready, input [39:0] read_address,
  output data_valid, input data_ready, output [BITS-1:0] data
);
  reg [BITS-1:0] queue [0:511];
  reg [31:0] due [0:511];
  reg [31:0] now = 0;
  reg [8:0] head = 0, tail = 0;
  assign place = read_address >> SHIFT;
  assign read_ready = calm;
  assign data_valid = head != tail && now >= due[head];
  assign data = queue[head];
  always @(posedge clk) begin
    now <= now + 1;
    if (rst) begin head <= 0; tail <= 0; end else begin
      if (read_valid && read_ready) begin
        if (place >= DEPTH) begin $display("{\"failed\": \"read beyond memory\"}"); $finish; end
        queue[tail] <= word;
        due[tail] <= now + CYCLES;
        tail <= tail + 1;
      end
      if (data_valid && data_ready) head <= head + 1;
    end
  end
endmodule

// A memory of flits with two ports to read; each port stalls in so many of 100 cycles.
module memory #(parameter BITS = 8, SHIFT = 0, DEPTH = 1, CYCLES = 1) (
  input clk, input rst, input [31:0] stalls, input [31:0] seed,
  input read_valid, output read_ready, input [39:0] read_address,
  output data_valid, input data_ready, output [BITS-1:0] data,
  input operand_read_valid, output operand_read_ready, input [39:0] operand_read_address,
  output operand_data_valid, input operand_data_ready, output [BITS-1:0] operand_data,
  input write_valid, output write_ready, input [39:0] write_address, input [BITS-1:0] write_data
);
  reg [BITS-1:0] words [0:DEPTH-1];
  reg [31:0] dice = 0, other = 0;
  wire calm = (dice >> 8) % 100 >= stalls;
  wire calmer = (dice >> 16) % 100 >= stalls;
  wire calmest = (other >> 8) % 100 >= stalls;
  wire [39:0] place, operand_place;
  wire [39:0] write_place = write_address >> SHIFT;
  assign write_ready = calmer;
  read_port #(.BITS(BITS), .SHIFT(SHIFT), .DEPTH(DEPTH), .CYCLES(CYCLES)) port (
    .clk(clk), .rst(rst), .calm(calm), .place(place), .word(words[place]),
    .read_valid(read_valid), .read_ready(read_ready), .read_address(read_address),
    .data_valid(data_valid), .data_ready(data_ready), .data(data)
  );
  read_port #(.BITS(BITS), .SHIFT(SHIFT), .DEPTH(DEPTH), .CYCLES(CYCLES)) operand_port (
    .clk(clk), .rst(rst), .calm(calmest), .place(operand_place), .word(words[operand_place]),
    .read_valid(operand_read_valid), .read_ready(operand_read_ready),
    .read_address(operand_read_address), .data_valid(operand_data_valid),
    .data_ready(operand_data_ready), .data(operand_data)
  );
  always @(posedge clk) begin
    dice <= (dice == 0 ? seed : dice) * 32'd1664525 + 32'd1013904223;
    other <= (other == 0 ? ~seed : other) * 32'd1664525 + 32'd1013904223;
    if (!rst) begin
      if (write_valid && write_ready) begin
        if (write_place >= DEPTH) begin $display("{\"failed\": \"write beyond memory\"}"); $finish; end
        words[write_place] <= write_data;
      end
    end
  end
endmodule

// Carries out a program on AXI4-Lite: {code, address, data, mask}, see fabric.py.
module driver #(parameter LENGTH = 1, NODE = 0, BITS = 12) (
  input clk, input rst, input [31:0] label, output reg ended, output asks, input begun,
  output reg [BITS-1:0] awaddr, output reg awvalid, input awready,
  output reg [31:0] wdata, output reg wvalid, input wready, input [1:0] bresp, input bvalid,
  output reg [BITS-1:0] araddr, output reg arvalid, input arready,
  input [31:0] rdata, input [1:0] rresp, input rvalid
);
  reg [111:0] steps [0:LENGTH-1];
  reg [31:0] at = 0, wait_left = 0, now = 0;
  reg waits = 0;
  wire [15:0] code = steps[at][111:96];
  wire [31:0] address = steps[at][95:64], value = steps[at][63:32], mask = steps[at][31:0];
  assign asks = !rst && code == 5;
  initial begin ended = 0; awvalid = 0; wvalid = 0; arvalid = 0; end
  always @(posedge clk) begin
    now <= now + 1;
    if (awvalid && awready) awvalid <= 0;
    if (wvalid && wready) wvalid <= 0;
    if (arvalid && arready) arvalid <= 0;
    if (rst) begin awvalid <= 0; wvalid <= 0; arvalid <= 0; waits <= 0; at <= label; end
    else if (code == 4) ended <= 1;
    else if (code == 5) ;  // until it is reset
    else if (code == 6) at <= at + begun;  // until another wants resets
    else if (wait_left != 0) wait_left <= wait_left - 1;
    else if (code == 7) begin $display("{\"marks\": [%0d, %0d]}", NODE, now); at <= at + 1; end
    else if (code == 0) begin wait_left <= value; at <= at + 1; end
    else if (code == 1) begin  // write
      if (!waits) begin
        awaddr <= address[BITS-1:0]; wdata <= value; awvalid <= 1; wvalid <= 1; waits <= 1;
      end else if (bvalid) begin
        waits <= 0; at <= at + 1;
        if (bresp != mask[1:0])
          $display("{\"answers\": [%0d, %0d, %0d]}", NODE, address, bresp);
      end
    end else begin  // read: 2 until (value & mask) is there, 3 to print, 8 until it is value or more
      if (!waits) begin araddr <= address[BITS-1:0]; arvalid <= 1; waits <= 1; end
      else if (rvalid) begin
        waits <= 0;
        if (code == 3) $display("{\"reads\": [%0d, %0d, %0d, %0d]}", NODE, address, rdata, now);
        if (code == 3 || (rdata & mask) == value || (code == 8 && (rdata & mask) > value)) at <= at + 1;
      end
    end
  end
endmodule
